"""The ladder: same results however it is played, going on after an interruption, what it writes."""

from __future__ import annotations

import json
import re
import runpy
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from agents.checkpoints import AGENT_FILE
from agents.networks import PolicyValueNet
from agents.neural import NeuralAgent
from fivesthrees_env.observations import Layout
from fivesthrees_env.rules import Rules
from train import ladder as module
from train.contest import Contest
from train.deals import DealSet
from train.evaluate import compare
from train.ladder import HEATMAP_FILE, JSON_FILE, PLAYED_FILE, TABLE_FILE, Args, Standings, ladder, table
from train.tournament import Played, Tournament

AGENTS = ["random", "greedy", "benchmarks.luck:Careless"]
RULES = "mini-3-pairs"


def arguments(out: Path, **changes: Any) -> Args:
    small = {"rules": RULES, "matches": 80, "deals": 20, "out": out, "workers": 1}
    return Args(**{"agents": AGENTS, **small, **changes})


def play(out: Path, **changes: Any) -> Standings:
    return ladder(arguments(out, **changes), quiet=True)


def results(folder: Path) -> dict[str, Any]:
    return json.loads((folder / JSON_FILE).read_text())


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished ladder."""
    folder = tmp_path_factory.mktemp("finished") / "ladder"
    play(folder)
    return folder


@pytest.fixture
def blocks(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """What is played from here on."""
    done: list[tuple[str, int]] = []
    original = Contest.play

    def noting(self: Contest, figure: str, start: int, stop: int) -> np.ndarray:
        values = original(self, figure, start, stop)
        done.append((figure, start))
        return values

    monkeypatch.setattr(Contest, "play", noting)
    return done


# ---------------------------------------------------------------------------------- what is played


def test_workers_and_order_change_nothing(played: Path, tmp_path: Path) -> None:
    play(tmp_path, workers=2, agents=AGENTS[::-1])
    assert results(tmp_path) == results(played)


def test_a_figure_of_the_ladder_is_repeated_by_evaluate(played: Path) -> None:
    found = next(c for c in results(played)["contests"] if {c["first"], c["second"]} == {"random", "greedy"})
    # Pairs meet in the order of the alphabet; agents that use chance play other games the other way round.
    again = compare("greedy", "random", RULES, deals=20, matches=80)
    assert found["first"] == "greedy"
    for figure in ("rounds", "swing", "matches", "less_luck"):
        assert found[figure] == pytest.approx(again[figure].as_json())
    assert results(played)["deals"]["hash"] == again["deals"]["hash"]


def test_everyone_meets_everyone_once(played: Path) -> None:
    found = results(played)
    assert len(found["contests"]) == 3
    assert sorted(team["team"] for team in found["teams"]) == sorted(AGENTS)
    for contest in found["contests"]:
        assert contest["matches"]["games"] == 80
        assert contest["rounds"]["games"] == 20 * 8
        assert contest["rounds"]["clusters"] == contest["swing"]["clusters"] == 20


def test_the_anchor_is_greedy_and_random_is_last(played: Path) -> None:
    found = results(played)
    assert found["anchor"] == "greedy"
    greedy = next(team for team in found["teams"] if team["name"] == "greedy")
    assert greedy["rating"] == greedy["low"] == greedy["high"] == 1000
    assert found["teams"][-1]["name"] == "random"
    assert found["teams"][-1]["high"] < 1000
    ratings = [team["rating"] for team in found["teams"]]
    assert ratings == sorted(ratings, reverse=True)


def test_partners_make_every_pair_of_unlike_agents(tmp_path: Path) -> None:
    standings = play(tmp_path, agents=["random", "greedy"], partners=True, matches=200)
    assert sorted(standings.teams) == ["greedy", "random", "random+greedy"]
    assert standings.teams[1] == "random+greedy"  # better than two of the one, worse than two of the other


def test_play_of_a_pair_stops_at_the_wanted_width(tmp_path: Path) -> None:
    standings = play(tmp_path, agents=["greedy", "random"], matches=4000, deals=0, width=0.12)
    result = standings.results[0, 1]["less_luck"]
    assert 128 <= result.clusters < 2000
    assert result.width < 0.13
    assert standings.tournament.figures == ["matches"]


def test_a_trained_agent_is_one_more_name(tmp_path: Path) -> None:
    rules = Rules.preset(RULES)
    torch.manual_seed(0)
    network = PolicyValueNet(Layout.of(rules).size, rules.num_actions, 8, 1)
    run = tmp_path / "my-run"
    NeuralAgent(network, rules).save(run / AGENT_FILE)
    agents = ["greedy", str(run)]
    standings = play(tmp_path / "out", agents=agents)
    assert sorted(standings.names) == ["greedy", "my-run"]
    torch.nn.init.zeros_(network.body[0].weight)
    NeuralAgent(network, rules).save(run / AGENT_FILE)
    with pytest.raises(ValueError, match=r"my-run: \w{12} there, \w{12} asked for"):
        play(tmp_path / "out", agents=agents)


# ------------------------------------------------------------------------------------ interruption


def test_after_an_interruption_play_goes_on_and_ends_alike(
    played: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped in the middle of a block, which is lost, and in the middle of a line, which is dropped."""
    original, count = Contest.play, 0

    def stopping(self: Contest, figure: str, start: int, stop: int) -> np.ndarray:
        nonlocal count
        count += 1
        if count == 8:
            raise KeyboardInterrupt
        return original(self, figure, start, stop)

    with monkeypatch.context() as patched:
        patched.setattr(Contest, "play", stopping)
        with pytest.raises(KeyboardInterrupt):
            play(tmp_path)
    file = tmp_path / PLAYED_FILE
    whole = file.read_bytes()
    assert whole.count(b"\n") == 1 + 7
    file.write_bytes(whole[:-30])
    play(tmp_path)
    assert results(tmp_path) == results(played)
    assert (tmp_path / TABLE_FILE).read_text() == (played / TABLE_FILE).read_text()


def test_a_finished_ladder_is_not_played_again(played: Path, blocks: list[tuple[str, int]]) -> None:
    before = results(played)
    play(played)
    assert not blocks
    assert results(played) == before


def test_an_agent_that_joins_plays_only_its_own_games(tmp_path: Path, blocks: list[tuple[str, int]]) -> None:
    play(tmp_path, agents=AGENTS[:2])
    first = len(blocks)
    play(tmp_path, agents=AGENTS)
    assert len(blocks) == 3 * first
    play(tmp_path, agents=AGENTS[1:])
    assert len(blocks) == 3 * first


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"matches": 82}, "matches per pair: 80 there, 82 asked for"),
        ({"deals": 21}, "deals per pair: 20 there, 21 asked for"),
        ({"seed": 1}, "deals: "),
        ({"rules": "mini-3"}, "deals: "),
        ({"width": 0.1}, "width: None there, 0.1 asked for"),
    ],
)
def test_other_settings_are_refused_and_harm_nothing(
    played: Path, changes: dict[str, Any], named: str
) -> None:
    before = (played / PLAYED_FILE).read_bytes()
    with pytest.raises(ValueError, match=f"holds a ladder with other settings .*{named}"):
        play(played, **changes)
    assert (played / PLAYED_FILE).read_bytes() == before


def test_restart_begins_anew(tmp_path: Path, blocks: list[tuple[str, int]]) -> None:
    play(tmp_path, agents=AGENTS[:2])
    first = len(blocks)
    play(tmp_path, agents=AGENTS[:2], seed=1, restart=True)
    assert len(blocks) == 2 * first
    assert results(tmp_path)["deals"]["number"] == 1


def test_a_file_without_a_whole_first_line_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / PLAYED_FILE
    path.write_bytes(b'{"format": "fivesth')
    settings = Tournament(Rules.preset(RULES), ("greedy", "random")).settings()
    opened = Played.open(path, settings)
    assert not opened.blocks
    assert json.loads(path.read_text()) == settings


# ---------------------------------------------------------------------------------- what is written


def test_the_table_tells_ratings_shares_cycles_and_how_to_repeat_it(played: Path) -> None:
    text = (played / TABLE_FILE).read_text()
    digest = DealSet(Rules.preset(RULES), 0, 40).hash
    assert "| 1000 | anchor |" in text
    assert f"hash {digest}" in text
    assert f"python -m train.ladder --rules {RULES} --agents" in text
    assert f"--matches 80 --deals 20 --seed 0 --hash {digest}" in text
    assert "Cycles: none that is significant." in text
    shares = re.findall(r"(\d+\.\d) ± \d+\.\d", text)
    assert len(shares) == 6
    rows = [line.count("|") for line in text.splitlines() if line.startswith("|")]
    assert rows == [9] * 5 + [5] * 5


def test_the_heatmap_is_a_picture(played: Path) -> None:
    assert (played / HEATMAP_FILE).read_bytes().startswith(b"\x89PNG")


def test_a_cycle_is_told() -> None:
    tournament = Tournament(Rules.preset(RULES), tuple(AGENTS), 80, 0)
    record = Played(Path("nowhere"), tournament.settings())
    for figure, first, second, start, stop in tournament.jobs(record):
        beats = (first, second) != (min(AGENTS), max(AGENTS))  # of three pairs in order, all but the outer
        won = np.random.default_rng(start).choice([0.5, 1.0], size=stop - start)
        values = np.stack([won if beats else 1 - won, np.zeros(stop - start)], 1)
        record.blocks[figure, first, second, start] = values
    standings = Standings(tournament, record)
    assert len(standings.cycles) == 1
    assert re.search(r"Cycles: \n- (\S+) beats \S+ beats \S+ beats \1", table(standings))
    assert standings.as_json()["cycles"] == standings.cycles


# ------------------------------------------------------------------------------------ command line


def command(monkeypatch: pytest.MonkeyPatch, *given: str) -> None:
    monkeypatch.setattr("sys.argv", ["train.ladder", *given])
    runpy.run_path(module.__file__, run_name="__main__")


def test_the_command_prints_the_ladder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--rules", RULES, "--matches", "20", "--deals", "0", "--workers", "1", "--out", str(tmp_path)]
    command(monkeypatch, "--agents", "greedy", "random", *options)
    out = capsys.readouterr().out
    assert "Ladder of mini-3-pairs" in out
    assert "anchor" in out
    assert {path.name for path in tmp_path.iterdir()} == {PLAYED_FILE, TABLE_FILE, JSON_FILE, HEATMAP_FILE}


def test_the_ladder_takes_the_rules_of_a_trained_agent_and_prints_a_command_that_can_be_pasted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rules = Rules.preset("mini-3")
    network = PolicyValueNet(Layout.of(rules).size, rules.num_actions, 8, 1)
    NeuralAgent(network, rules).save(tmp_path / "a-run-with-a-long-name" / AGENT_FILE)
    run, out = str(tmp_path / "a-run-with-a-long-name"), str(tmp_path / "out")
    monkeypatch.setenv("COLUMNS", "60")
    options = ["--matches", "8", "--deals", "0", "--workers", "1", "--out", out]
    command(monkeypatch, "--agents", "greedy", run, *options)
    lines = capsys.readouterr().out.splitlines()
    [again] = [line.split() for line in lines if "python -m train.ladder" in line]
    assert again[:5] == ["python", "-m", "train.ladder", "--rules", "mini-3"]
    assert again[-2] == "--hash"
    before = (tmp_path / "out" / TABLE_FILE).read_text()
    command(monkeypatch, *again[3:], "--workers", "1", "--out", out)
    assert (tmp_path / "out" / TABLE_FILE).read_text() == before


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["greedy"], "agents: greedy given; allowed: two or more, each once"),
        (["greedy", "greedy"], "agents: greedy greedy given; allowed: two or more, each once"),
        (["greedy", "runs/nowhere"], "no agent 'runs/nowhere'"),
        (["greedy", "random", "--width", "0"], "width: 0.0 given; allowed: more than 0"),
        (["greedy", "random", "--deals", "-1"], "deals: -1 given; allowed: 0 or more"),
        (["greedy", "random", "--matches", "0"], "matches: 0 given; allowed: 1 or more"),
        (["greedy", "random", "--hash", "abc"], "hash: abc given"),
        (["greedy", "random", "--rules", "chess"], "no preset 'chess'"),
        (["greedy", "random+greedy", "--rules", "mini-3"], "team: 'random+greedy' given"),
    ],
)
def test_impossible_ladders_get_one_clear_line(
    given: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SystemExit) as caught:
        command(monkeypatch, "--out", str(tmp_path / "out"), "--agents", *given)
    assert str(caught.value).startswith("train.ladder: ")
    assert message in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_an_interruption_says_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Contest, "play", stop)
    with pytest.raises(SystemExit, match="130"):
        command(monkeypatch, "--agents", "greedy", "random", "--workers", "1", "--out", str(tmp_path))
    assert "interrupted; the same command goes on from here" in capsys.readouterr().err


def test_without_ray_its_backend_is_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    options = ["--backend", "ray", "--workers", "2", "--rules", RULES, "--out", str(tmp_path)]
    with pytest.raises(SystemExit, match=r"train.ladder: .*ray"):
        command(monkeypatch, "--agents", "greedy", "random", *options)


def test_a_ray_cluster_gives_the_same_results(played: Path, tmp_path: Path) -> None:
    pytest.importorskip("ray")
    play(tmp_path, workers=2, backend="ray")
    assert results(tmp_path) == results(played)
