"""The game, written once: every rule of both games over one match record.

| file | what it holds |
|---|---|
| ``record.py`` | the match record, its constants |
| ``random.py`` | the random stream inside the record |
| ``deal.py`` | dealing, the opener, the lead |
| ``layout.py`` | the line, its ends, the count |
| ``play.py`` | legal actions, one ply |
| ``settle.py`` | points, the target, the end of a round |
| ``jit.py``, ``known.py`` | how all of it is compiled, for any game or for one |

Kernel functions take one ``MATCH`` record and change it in place. They assume legal input; whoever faces
the outside checks with ``is_legal`` first.
"""
