"""Scripts that measure, one a library. Each is a process of its own and prints one line of JSON (``clock``).

``ours.py`` runs in our environment, the others in the one of the peers, where nothing of ours can be
imported: they see this folder and no more.
"""
