"""``benchmarks.compare``: all of it that needs no installation and no clock."""

from __future__ import annotations

import dataclasses
import importlib
import io
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from rich.console import Console

from benchmarks.compare import environment, measure, report
from benchmarks.compare.__main__ import chosen
from benchmarks.compare.measure import Measured, MeasurementError
from benchmarks.compare.peers import CONTENDERS, GIVEN, MANY, ONE, OURS, PEERS, PLAY, Contender, Peer

GOOD = Peer("Good", "good", (("wheel",), ("good==1.5",)), {"FLAG": "1"})
BAD = Peer("Bad", "bad", (("bad",),))
LAST = Peer("Last", "last", (("last",),))


class FakePip:
    """Answers commands as an installation would; ``Bad`` cannot be built."""

    def __init__(self):
        self.commands = []

    def __call__(self, command, variables):
        self.commands.append((command, variables))
        text, code, errors = "", 0, ""
        if command[1:3] == ["-m", "venv"]:
            folder = environment.Path(command[3])
            folder.mkdir(parents=True)
            (folder / "pyvenv.cfg").touch()
        elif command[-1] == "bad":
            code, errors = 1, "WARNING: old\nerror: no compiler found\n\nnote: not a problem with pip.\n"
        elif command[1] == "-c":
            text = "1.5\n"
        return subprocess.CompletedProcess(command, code, text, errors)

    @property
    def installed(self):
        return [command[-1] for command, _ in self.commands if "pip" in command]


def prepare(folder, peers, pip, fresh=False):
    return environment.prepare(folder, peers, fresh, run=pip, tell=[].append)


# ------------------------------------------------------------------------------------ environment


def test_a_failing_installation_is_listed_and_stops_no_other(tmp_path):
    pip = FakePip()
    outcomes = prepare(tmp_path / "peers", [GOOD, BAD, LAST], pip)
    assert outcomes["Good"] == environment.Outcome("1.5")
    assert outcomes["Bad"] == environment.Outcome(None, "error: no compiler found")
    assert outcomes["Last"].version == "1.5"
    assert pip.installed == ["wheel", "good==1.5", "bad", "last"]


def test_an_installation_gets_its_variables_and_the_environments_python(tmp_path):
    pip = FakePip()
    prepare(tmp_path / "peers", [GOOD], pip)
    installing = [(command, variables) for command, variables in pip.commands if "pip" in command]
    assert all(variables == {"FLAG": "1"} for _, variables in installing)
    assert all(command[0] == str(tmp_path / "peers/bin/python") for command, _ in installing)


def test_the_environment_is_reused_with_its_failures_while_nothing_changes(tmp_path):
    first = prepare(tmp_path / "peers", [GOOD, BAD], FakePip())
    pip = FakePip()
    assert prepare(tmp_path / "peers", [GOOD, BAD], pip) == first
    assert not pip.commands


@pytest.mark.parametrize(
    "changed",
    [
        [GOOD, BAD, LAST],
        [BAD, GOOD],
        [dataclasses.replace(GOOD, installs=(("wheel",), ("good==1.6",))), BAD],
        [dataclasses.replace(GOOD, variables={}), BAD],
    ],
)
def test_changed_requirements_make_the_environment_anew(tmp_path, changed):
    folder = tmp_path / "peers"
    prepare(folder, [GOOD, BAD], FakePip())
    (folder / "leftover").touch()
    pip = FakePip()
    prepare(folder, changed, pip)
    assert pip.installed
    assert not (folder / "leftover").exists()


def test_fresh_makes_the_environment_anew(tmp_path):
    prepare(tmp_path / "peers", [GOOD], FakePip())
    pip = FakePip()
    prepare(tmp_path / "peers", [GOOD], pip, fresh=True)
    assert pip.installed == ["wheel", "good==1.5"]


@pytest.mark.parametrize("stamp", ["", "[]", "{}", '{"wanted": 1, "outcomes": {}}'])
def test_an_interrupted_environment_is_made_anew(tmp_path, stamp):
    prepare(tmp_path / "peers", [GOOD], FakePip())
    (tmp_path / "peers" / environment.STAMP).write_text(stamp)
    pip = FakePip()
    prepare(tmp_path / "peers", [GOOD], pip)
    assert pip.installed


def test_a_folder_with_other_things_is_refused_and_left_alone(tmp_path):
    (tmp_path / "thesis.txt").touch()
    with pytest.raises(RuntimeError, match="which is no virtual environment; allowed: a new one"):
        prepare(tmp_path, [GOOD], FakePip())
    assert (tmp_path / "thesis.txt").exists()


def test_without_a_virtual_environment_nothing_is_installed(tmp_path):
    def run(command, variables):
        return subprocess.CompletedProcess(command, 1, "", "Error: ensurepip is not available\n")

    with pytest.raises(RuntimeError, match="ensurepip is not available"):
        environment.prepare(tmp_path / "peers", [GOOD], run=run, tell=[].append)


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        (
            "ERROR: No matching distribution found for envpool\n",
            "ERROR: No matching distribution found for envpool",
        ),
        ("Traceback:\nValueError: 3\n      [end of output]\n\nnote: a subprocess\n", "ValueError: 3"),
        ("error: x\n\n× Encountered error.\n╰─> See above.\n\nhint: See above.", "error: x"),
        ("\n", "it said nothing"),
    ],
)
def test_the_reason_is_the_last_line_that_tells_something(output, reason):
    assert environment.last_error(output) == reason


def test_a_long_reason_is_cut():
    assert len(environment.last_error("x" * 500)) == 160


def test_no_peer_brings_an_unpinned_torch():
    asked = [argument for peer in PEERS for arguments in peer.installs for argument in arguments]
    assert not [argument for argument in asked if argument.startswith("torch") and "==" not in argument]


def test_the_peers_environment_sees_nothing_of_ours(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    assert "PYTHONPATH" not in environment.clean_variables()
    assert environment.clean_variables()["PYTHONNOUSERSITE"] == "1"


# ------------------------------------------------------------------------------------ contenders


def test_every_kind_has_one_yardstick_and_it_is_ours():
    for kind in {contender.kind for contender in CONTENDERS}:
        marks = [contender for contender in CONTENDERS if contender.kind == kind and contender.yardstick]
        assert [mark.library for mark in marks] == [OURS]


def test_every_contender_has_a_script_and_a_library():
    names = {OURS, *(peer.name for peer in PEERS)}
    for contender in CONTENDERS:
        assert (PLAY / contender.script).is_file()
        assert contender.library in names
    assert {contender.library for contender in CONTENDERS} == names
    assert len({(contender.script, contender.game) for contender in CONTENDERS}) == len(CONTENDERS)


def test_scripts_of_peers_import_nothing_of_ours():
    for contender in CONTENDERS:
        if contender.library != OURS:
            text = (PLAY / contender.script).read_text(encoding="utf-8")
            assert "fivesthrees_env" not in text
            assert "benchmarks" not in text


def test_chosen_peers_are_measured_beside_ours():
    assert {contender.library for contender in chosen(["RLCard"])} == {OURS, "RLCard"}
    with pytest.raises(ValueError, match="peers: 'Rlcard' given; allowed: OpenSpiel, RLCard"):
        chosen(["Rlcard"])


# ------------------------------------------------------------------------------------ measuring


@pytest.fixture
def play(monkeypatch):
    """Modules of the folder of scripts, as the scripts see them."""
    monkeypatch.syspath_prepend(str(PLAY))
    yield importlib.import_module
    for name in ("aec_loop", "choice", "clock", "ours"):
        sys.modules.pop(name, None)


def contender(kind=ONE, library=OURS, game="game", yardstick=False, script="ours.py", **changes):
    made = Contender(kind, library, f"the {game}", "`env()`", "`step`", script, game, yardstick)
    return dataclasses.replace(made, **changes)


def test_a_measurement_warms_up_and_fills_the_time(play, monkeypatch):
    clock = play("clock")
    now, calls_made = [0.0], []
    monkeypatch.setattr(clock.time, "perf_counter", lambda: now[0])

    def loop(calls):
        calls_made.append(calls)
        now[0] += 0.25 * calls

    result = clock.measure(clock.Loop(loop, 100, 10, steps_per_call=8), seconds=8.0)
    assert calls_made == [1, 1, 2, 4, 8, 32]
    assert result == {"steps": 256, "seconds": 8.0, "observation_bytes": 100, "mask_bytes": 10}


def test_a_loop_may_say_which_seconds_count(play):
    clock = play("clock")
    result = clock.measure(clock.Loop(lambda calls: 0.5 * calls, 1, 0), seconds=2.0)
    assert (result["steps"], result["seconds"]) == (4, 2.0)


def test_a_script_prints_what_the_parser_takes(play, capsys, monkeypatch):
    clock = play("clock")
    monkeypatch.setattr(sys, "argv", ["script.py", "whist", "1"])
    games = []

    def prepare(game):
        games.append(game)
        print("a library's greeting")
        return clock.Loop(float, 7, 2, 3)  # a second a call

    clock.run(prepare)
    assert games == ["whist"]
    assert measure.parse(capsys.readouterr().out) == {
        "steps": 3,
        "seconds": 1.0,
        "observation_bytes": 7,
        "mask_bytes": 2,
    }


@pytest.mark.parametrize(
    "output",
    ["", "Killed\n", "[1]\n", '{"steps": 1}\n', json.dumps(dict.fromkeys(sorted(measure.FIELDS), 0))],
)
def test_anything_else_is_no_measurement(output):
    with pytest.raises(MeasurementError, match="no measurement"):
        measure.parse(output)


def test_a_failing_script_says_why(tmp_path, monkeypatch):
    (tmp_path / "broken.py").write_text("import no_such_library\n")
    monkeypatch.setattr(measure, "PLAY", tmp_path)
    with pytest.raises(MeasurementError, match="No module named 'no_such_library'"):
        measure.measure_once(contender(script="broken.py"), tmp_path, 0.1)


def test_a_script_runs_with_its_game_and_one_thread(tmp_path, monkeypatch):
    script = (
        "import json, os, sys\n"
        "steps, seconds = int(sys.argv[1]) * int(os.environ['OMP_NUM_THREADS']), float(sys.argv[2])\n"
        "print(json.dumps(dict(steps=steps, seconds=seconds, observation_bytes=1, mask_bytes=0)))\n"
    )
    (tmp_path / "script.py").write_text(script)
    monkeypatch.setattr(measure, "PLAY", tmp_path)
    got = measure.measure_once(contender(script="script.py", game="40"), tmp_path, 0.5)
    assert (got["steps"], got["seconds"]) == (40, 0.5)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system has no such call")
def test_a_core_that_may_not_be_used_is_refused():
    with pytest.raises(ValueError, match="core: 100000 given; allowed: "):
        measure.pin(100_000)


def test_without_the_call_nothing_is_pinned(monkeypatch):
    monkeypatch.delattr(os, "sched_setaffinity", raising=False)
    assert measure.pin(0) is None


def test_rounds_are_interleaved_and_a_failure_leaves_the_rest_alone():
    contenders = [contender(game="a"), contender(game="b"), contender(game="c")]
    order = []

    def once(one):
        order.append(one.game)
        if one.game == "b":
            raise MeasurementError("it broke")
        return {"steps": 10 * len(order), "seconds": 2.0, "observation_bytes": 5, "mask_bytes": 1}

    results = measure.measure_all(contenders, 2, once, tell=lambda *_: None)
    assert order == ["a", "b", "c", "a", "c"]
    assert results[0].speeds == [5.0, 20.0]
    assert results[0].median == 12.5
    assert (results[1].speeds, results[1].failure) == ([], "it broke")


def test_numpy_chooses_legal_actions_uniformly(play):
    masks = np.tile(np.array([0, 1, 1, 0, 1], np.int8), (30_000, 1))
    counts = np.bincount(play("choice").legal(masks, np.random.default_rng(0)), minlength=5)
    assert not counts[[0, 3]].any()
    np.testing.assert_allclose(counts[[1, 2, 4]], 10_000, rtol=0.03)


@pytest.mark.parametrize("game", [one.game for one in CONTENDERS if one.library == OURS])
def test_our_loops_play(play, monkeypatch, game):
    ours = play("ours")
    monkeypatch.setattr(ours, "NUM_MATCHES", 8)
    loop = ours.GAMES[game]()
    loop.play(40)  # over the ends of rounds
    assert loop.observation_bytes > 280
    assert loop.mask_bytes in (57, 114)


# ------------------------------------------------------------------------------------ report


def measured(*speeds, observation=300, mask=57, failure=None):
    return Measured(list(speeds), observation, mask, failure)


@pytest.fixture
def made():
    """A report of two kinds, with a peer not installed and one that failed."""
    contenders = [
        contender(ONE, OURS, "fives", True),
        contender(ONE, "RLCard", "leduc"),
        contender(ONE, "OpenSpiel", "skat"),
        contender(ONE, "RLCard", "bridge"),
        contender(MANY, OURS, "fives", True),
        contender(MANY, "Pgx", "leduc"),
        contender(GIVEN, "PufferLib", "tetris"),
    ]
    results = [
        measured(100_000.0, 120_000.0, 110_000.0),
        measured(10_000.0, 11_000.0, 12_000.0, observation=288, mask=0),
        measured(22_000.0, 22_000.0, 22_000.0),
        measured(5.0, failure="KeyError: 'obs' | 3"),
        measured(9_510_000.0),
        measured(19_020_000.0, observation=34, mask=3),
        measured(5e6, observation=936, mask=0),
    ]
    outcomes = {"EnvPool": environment.Outcome(None, "no wheel"), "Pgx": environment.Outcome("2.6.0")}
    return report.Report(
        machine={"cpu": "Zilog Z80", "cores": 1, "system": "CP/M", "python": "3.11"},
        date="2026-01-02",
        rounds=3,
        seconds=0.5,
        core=0,
        versions={OURS: "0.1", "Pgx": "2.6.0"},
        rows=tuple(report.rows_of(contenders, results)),
        missing=tuple(report.missing_of(outcomes, contenders, results)),
    )


def test_ratios_are_to_our_yardstick_of_the_same_kind(made):
    assert {(row.kind, row.environment): row.ratio for row in made.rows if not row.ours} == {
        (ONE, "the skat"): 5.0,
        (ONE, "the leduc"): 10.0,
        (MANY, "the leduc"): 0.5,  # slower than a peer is said, too
        (GIVEN, "the tetris"): None,  # nothing of ours to measure it by
    }


def test_ours_come_first_and_peers_by_speed(made):
    assert [row.environment for row in made.rows if row.kind == ONE] == ["the fives", "the skat", "the leduc"]


def test_what_is_missing_is_listed_with_its_reason(made):
    assert made.missing == (
        report.Missing("EnvPool", "all", "not installed: no wheel"),
        report.Missing("RLCard", "the bridge", "KeyError: 'obs' | 3"),
    )


def test_the_page_has_every_row_with_its_figures(made):
    lines = report.page(made).splitlines()
    ours = next(line for line in lines if line.startswith("| **the fives**"))
    named, figures = "| **the fives** | **ours** | `env()` | `step` ", "| 110,000 (100,000 to 120,000) "
    assert ours == named + figures + "| 300 + 57 | 39.3 MB | yardstick |"
    assert any("| 11,000 (10,000 to 12,000) | 288 + 0 | 3.17 MB | 10× |" in line for line in lines)
    assert any("| 34 + 3 | 704 MB | 0.5× |" in line for line in lines)
    assert "| RLCard | the bridge | KeyError: 'obs' \\| 3 |" in lines
    assert "| Pgx | 2.6.0 |" in lines
    assert "On one core of Zilog Z80 (1 cores), CP/M, Python 3.11, 2026-01-02." in lines


def test_without_pinning_the_page_says_so(made):
    assert "cannot keep a process on one core" in report.page(dataclasses.replace(made, core=None))
    assert "cannot keep a process on one core" not in report.page(made)


def test_a_report_survives_its_json(made):
    assert report.Report.from_json(made.to_json()) == made


def test_page_data_and_chart_are_written_alike_each_time(made, tmp_path):
    first = [path.read_bytes() for path in report.write(made, tmp_path / "a")]
    second = [path.read_bytes() for path in report.write(made, tmp_path / "b")]
    assert first == second
    assert all(path.stat().st_size for path in (tmp_path / "a").rglob("*.*"))
    assert report.Report.from_json((tmp_path / "a" / report.DATA).read_text()) == made


def test_every_bar_of_the_chart_ends_within_its_panel(made, tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr("matplotlib.pyplot.close", drawn.append)
    report.chart(made, tmp_path / "chart.svg")
    bars = [(bar, panel) for panel in drawn[0].axes for bar in panel.patches]
    assert sorted(bar.get_width() for bar, _ in bars) == sorted(row.steps_per_second for row in made.rows)
    assert all(panel.get_xlim()[0] < bar.get_width() < panel.get_xlim()[1] for bar, panel in bars)


def test_the_terminal_table_names_all(made):
    text = io.StringIO()
    Console(width=80, file=text).print(report.terminal_table(made))
    assert all(report.label(row) in text.getvalue() for row in made.rows)
    assert "…" not in text.getvalue()


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.5, "", "0.5"),
        (812.4, "", "812"),
        (27_449.0, "", "27,400"),
        (9_514_000.0, "", "9.51 M"),
        (9_514_000.0, "B", "9.51 MB"),
        (3_400_000_000.0, "B", "3.4 GB"),
        (950.0, "B", "950 B"),
        (120_900.0, "B", "121 kB"),
    ],
)
def test_numbers_are_written_to_three_digits(value, unit, text):
    assert report.three_digits(value, unit) == text


def test_the_machine_is_described():
    machine = report.describe_machine()
    assert machine["cpu"]
    assert machine["cores"] >= 1


def test_versions_are_of_ours_and_of_what_was_installed():
    outcomes = {peer.name: environment.Outcome(None, "no") for peer in PEERS}
    outcomes["Pgx"] = environment.Outcome("2.6.0")
    versions = report.describe_versions(PEERS, outcomes)
    assert list(versions) == [OURS, "Pgx"]
    assert "Numba" in versions[OURS]
