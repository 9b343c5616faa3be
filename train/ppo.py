"""Self-play PPO: one network plays all seats and learns from all of them.

    python -m train.ppo                                # four players in pairs, three minutes
    python -m train.ppo --rules fives_and_threes-2p --minutes 10 --width 512
    python -m train.ppo --resume                       # go on with the run of these rules and this seed

Proximal policy optimisation (Schulman et al., 2017) over ``MatchBatch``: illegal actions are masked, forced
moves are skipped, and advantages run along each seat's own decisions (``advantages.py``). A rollout holds one
decision per match and step, by whichever seat is to move.

| metric | meaning |
|---|---|
| decisions | decisions collected so far; forced moves are not decisions |
| seconds | time spent on it, collection and learning together |
| decisions/s | decisions per second of training, collection and learning together |
| score rate | points that all sides together score per decision, forced plies included |
| match decisions | decisions per finished match |
| entropy | mean entropy of the masked policy, in nats |
| policy loss | the clipped surrogate |
| value loss | half the mean squared error of the value |
| explained variance | 1 - Var(return - value) / Var(return), mean over the gradient steps |
| approx KL | mean of (ratio - 1) - log ratio (Schulman, 2020) |
| clip fraction | share of decisions whose ratio left the clip range |
| learning rate | of the optimiser |
| margin vs greedy | points per duplicate round against greedy, on deals kept for this curve |
"""

from __future__ import annotations

import copy
import math
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
import tyro
from torch import Tensor

from agents import checkpoints
from agents.networks import PolicyValueNet, multiplies_bfloat16
from agents.neural import NeuralAgent
from agents.sampling import sample_actions
from fivesthrees_env.batch import MatchBatch
from fivesthrees_env.opponents import GreedyAgent
from fivesthrees_env.rewards import margins
from fivesthrees_env.rules import Rules, RulesError
from train.adam import SharedAdam
from train.advantages import seat_advantages
from train.evaluate import CURVE_SEED, duplicate_rounds
from train.losses import METRICS, Coefficients, Samples, loss_gradients, metrics_of
from train.monitor import Monitor, StopRequest, every
from train.report import python, report
from train.shares import in_shares, single_threaded

TRAINER_FILE = "trainer.safetensors"
#: Rows that a thread takes at a time, of a step's matches and of a minibatch.
PLAYED_SHARE, LEARNED_SHARE = 256, 512
#: With some ten thousand threads PyTorch ends the process.
MOST_THREADS = 1024
_SUMMARY = "Self-play PPO: one network plays all seats and learns from all of them."


@dataclass
class Args:
    """Arguments of a training run."""

    rules: str = "fives_and_threes-4p"
    """A preset's name, such as fives_and_threes-2p (all: Rules.presets())."""
    minutes: float | None = None
    """Time to train, over all resumed parts of the run together; default 3, or what the run had."""
    decisions: int | None = None
    """Train for so many decisions instead, in whole rollouts: with the same seed, reproducible."""
    seed: int = 1
    """Seeds the deals, the network and every draw."""
    run: Path | None = None
    """Folder of the run; default: runs/<rules>-seed<seed>."""
    resume: bool = False
    """Go on with the run in that folder, from its last checkpoint."""
    threads: int = 0
    """CPU threads; 0: all cores. The same seed gives the same run on any number of them."""
    num_matches: int = 512
    """Matches played side by side."""
    steps: int = 128
    """Decisions per match and rollout."""
    width: int = 256
    """Units per hidden layer."""
    depth: int = 2
    """Hidden layers."""
    bfloat16: bool = field(default_factory=multiplies_bfloat16)
    """Multiply hidden layers in bfloat16; default: where the processor does it (docs/precision.md)."""
    learning_rate: float = 1e-3
    """Step size of Adam at the start; it falls linearly over the budget, to a twentieth. To raise the budget
    later raises it again."""
    gamma: float = 0.8
    """Discount per own decision."""
    lam: float = 0.95
    """Lambda of generalised advantage estimation."""
    margin_reward: float = 6.0
    """Reward for a margin as large as the target, in proportion for each point over the other sides."""
    win_reward: float = 0.0
    """Reward for winning the match; losing costs the same, shared by the losers."""
    epochs: int = 2
    """Passes over each rollout."""
    minibatch: int = 1024
    """Decisions per gradient step."""
    clip: float = 0.2
    """Range of the probability ratio."""
    entropy: float = 0.01
    """Weight of the entropy bonus."""
    value_weight: float = 0.5
    """Weight of the value loss."""
    max_grad_norm: float = 1.0
    """Gradients are scaled down to this norm."""
    checkpoint_seconds: float = 15.0
    """Time between checkpoints, and between points of the learning curve."""
    report: bool = True
    """Measure the agent at the end: a table, a picture, a replay."""
    deals: int = 1000
    """Deals of that measurement."""
    matches: int = 1000
    """Whole matches of that measurement."""

    @property
    def minutes_or_default(self) -> float:
        """Time to train."""
        return 3.0 if self.minutes is None else self.minutes

    def folder(self) -> Path:
        """Where the run lives."""
        return self.run if self.run is not None else Path("runs") / f"{self.rules}-seed{self.seed}"


#: Arguments that may differ when a run is resumed: for how long it learns, where, and what is measured.
FREE = {
    "minutes",
    "decisions",
    "run",
    "resume",
    "threads",
    "checkpoint_seconds",
    "report",
    "deals",
    "matches",
}


class ArgumentError(ValueError):
    """An argument that no run can start with."""


class DivergenceError(ArithmeticError):
    """A run whose weights are no numbers any more."""


def check(args: Args) -> None:
    """See that there is something to do.

    Raises:
        ArgumentError: naming the argument, its value and what is allowed.
    """
    if args.minutes is not None and not args.minutes > 0:
        raise ArgumentError(f"--minutes {args.minutes} given; allowed: more than 0")
    for name in ("learning_rate", "clip", "max_grad_norm", "gamma", "lam"):
        value, most = getattr(args, name), 1 if name in ("gamma", "lam", "learning_rate") else math.inf
        if not 0 < value <= most:
            raise ArgumentError(f"--{name.replace('_', '-')} {value} given; allowed: above 0, up to {most}")
    counts = ("decisions", "num_matches", "steps", "width", "depth", "epochs", "minibatch", "deals")
    for name in (*counts, "matches"):
        value = getattr(args, name)
        if value is not None and value < 1:
            raise ArgumentError(f"--{name.replace('_', '-')} {value} given; allowed: 1 or more")
    for name in ("margin_reward", "win_reward", "entropy", "value_weight", "checkpoint_seconds"):
        value = getattr(args, name)
        if not 0 <= value < math.inf:
            raise ArgumentError(f"--{name.replace('_', '-')} {value} given; allowed: 0 or more, finite")
    for name, most in (("threads", MOST_THREADS), ("seed", 2**63 - 1)):
        value = getattr(args, name)
        if not 0 <= value <= most:
            raise ArgumentError(f"--{name} {value} given; allowed: 0 to {most}")


class Rollout:
    """The arrays of one rollout: T steps of N matches, one decision each."""

    def __init__(self, batch: MatchBatch, steps: int) -> None:
        self.rules = batch.rules
        n, sides = batch.num_matches, batch.rules.num_sides
        # One row more than steps: the decision that the next rollout begins with.
        self.observations = np.zeros((steps + 1, n, batch.layout.size), np.int8)
        self.masks = np.zeros((steps + 1, n, batch.rules.num_actions), np.int8)
        self.actions = np.zeros((steps, n), np.int64)
        self.log_probs = np.zeros((steps, n), np.float32)
        self.values = np.zeros((steps, n), np.float32)
        self.points = np.zeros((steps, n, sides), np.float32)
        self.winners = np.zeros((steps, n), np.int8)
        self.dones = np.zeros((steps, n), np.bool_)
        self.seats = np.zeros((steps, n), np.int8)

    def rewards(self, args: Args) -> np.ndarray:
        """What each step was worth to each side: (T, N, sides) float32."""
        sides = self.points.shape[-1]
        rewards = args.margin_reward / self.rules.target * margins(self.points)
        if args.win_reward:
            won = self.winners[..., None] == np.arange(sides)
            decided = self.winners[..., None] >= 0
            rewards += args.win_reward * np.where(won, 1.0, -1.0 / (sides - 1)) * decided
        return rewards.astype(np.float32)


@single_threaded()
def collect(
    rollout: Rollout, batch: MatchBatch, network: PolicyValueNet, rng: np.random.Generator, threads: int = 1
) -> None:
    """Play T decisions in every match with the network in all seats."""
    uniforms = rng.random(rollout.actions.shape)

    def decide(t: int, share: slice) -> None:
        with torch.inference_mode():
            logits, values = network(torch.from_numpy(rollout.observations[t, share]))
        actions, log_probs = sample_actions(logits.numpy(), rollout.masks[t, share], uniforms[t, share])
        rollout.actions[t, share], rollout.log_probs[t, share] = actions, log_probs
        rollout.values[t, share] = values.numpy()

    rollout.observations[0] = batch.observations
    rollout.masks[0] = batch.action_masks
    for t in range(len(rollout.actions)):
        rollout.seats[t] = batch.seats
        in_shares(partial(decide, t), batch.num_matches, PLAYED_SHARE, threads)
        batch.bind(rollout.observations[t + 1], rollout.masks[t + 1])
        batch.step(rollout.actions[t])
        rollout.points[t] = batch.rewards
        rollout.winners[t], rollout.dones[t] = batch.winners, batch.dones


def samples_of(rollout: Rollout, args: Args) -> tuple[Samples, np.ndarray]:
    """What a rollout is learned from, all its decisions, and which of them can be learned from."""
    advantages, usable = seat_advantages(
        rollout.rewards(args),
        rollout.values,
        rollout.seats,
        rollout.dones,
        rollout.rules.num_players,
        args.gamma,
        args.lam,
    )
    kept = np.flatnonzero(usable)
    if not kept.size:
        raise ArgumentError(f"--steps {args.steps} is too few for a seat to decide twice; allowed: more")
    returns = advantages + rollout.values
    scale = advantages.reshape(-1)[kept]
    advantages = (advantages - scale.mean()) / (scale.std() + 1e-8)
    steps, n = rollout.actions.shape
    columns = (
        rollout.observations[:steps],
        rollout.masks[:steps],
        rollout.actions,
        rollout.log_probs,
        advantages,
        returns,
    )
    return Samples(*(column.reshape(steps * n, *column.shape[2:]) for column in columns)), kept


def minibatches(usable: np.ndarray, args: Args, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Shuffled minibatches: which samples are in them."""
    size = min(args.minibatch, len(usable))
    for _ in range(args.epochs):
        order = rng.permutation(usable)
        for start in range(0, len(order) - size + 1, size):
            yield order[start : start + size]


@single_threaded()
def update(
    network: PolicyValueNet,
    optimizer: SharedAdam,
    samples: Samples,
    batches: Iterator[np.ndarray],
    args: Args,
    threads: int = 1,
) -> dict[str, float]:
    """One PPO update; returns the mean metrics of its gradient steps."""
    parameters = list(network.parameters())
    coefficients = Coefficients(args.clip, args.value_weight, args.entropy)

    def gradients(batch: np.ndarray, share: slice) -> tuple[tuple[Tensor, ...], np.ndarray]:
        chosen = samples.take(batch[share])
        outputs = network(torch.from_numpy(chosen.observations))
        of_outputs, sums = loss_gradients(outputs, chosen, len(batch), coefficients)
        return torch.autograd.grad(outputs, parameters, of_outputs), sums

    metrics = []
    for batch in batches:
        of_shares = in_shares(partial(gradients, batch), len(batch), LEARNED_SHARE, threads)
        grads, sums = zip(*of_shares, strict=True)
        optimizer.step_by(grads, args.max_grad_norm, threads)
        metrics.append(metrics_of(np.sum(sums, axis=0), len(batch)))
    return dict(zip(METRICS, np.mean(metrics, 0).tolist(), strict=True))


@contextmanager
def _state_of_a_run(path: Path) -> Iterator[None]:
    """Whatever goes wrong with a checkpoint's contents says which file it is."""
    try:
        yield
    except checkpoints.CheckpointError:
        raise
    except (KeyError, TypeError, ValueError, RuntimeError, AttributeError) as error:
        raise checkpoints.CheckpointError(
            f"{path}: damaged or no state of a run ({type(error).__name__}: {error})"
        ) from error


class Trainer:
    """A run: everything that a checkpoint has to keep."""

    def __init__(self, args: Args) -> None:
        self.args = args
        self.rules = Rules.preset(args.rules)
        torch.manual_seed(args.seed)
        self.rng = np.random.default_rng(args.seed)
        # Far below the evaluation seeds: no deal is ever trained on and measured with.
        first_deal = args.seed % 2**16 * 2**20
        self.threads = args.threads or torch.get_num_threads()
        self.batch = MatchBatch(
            args.num_matches, self.rules, first_deal, skip_forced=True, num_threads=self.threads
        )
        with single_threaded():  # the decomposition that draws the weights rounds by the number of threads
            self.network = PolicyValueNet(
                self.batch.layout.size, self.rules.num_actions, args.width, args.depth
            )
        self.network.in_bfloat16 = args.bfloat16
        self.optimizer = SharedAdam(list(self.network.parameters()), args.learning_rate, eps=1e-5)
        self.decisions = 0
        self.seconds = 0.0

    @property
    def progress(self) -> float:
        """How much of the run is done, 0 to 1."""
        if self.args.decisions is not None:
            return min(self.decisions / self.args.decisions, 1.0)
        return min(self.seconds / (60 * self.args.minutes_or_default), 1.0)

    @property
    def budget(self) -> str:
        """How long the run is to be, in words."""
        if self.args.decisions is not None:
            return f"its {self.args.decisions:,} decisions"
        return f"its {self.args.minutes_or_default:g} minutes"

    def iterate(self, rollout: Rollout) -> dict[str, float]:
        """One rollout and one update; returns the metrics."""
        started = time.perf_counter()
        rate = self.args.learning_rate * max(1 - self.progress, 0.05)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        collect(rollout, self.batch, self.network, self.rng, self.threads)
        samples, usable = samples_of(rollout, self.args)
        batches = minibatches(usable, self.args, self.rng)
        metrics = update(self.network, self.optimizer, samples, batches, self.args, self.threads)
        seconds = time.perf_counter() - started
        self.decisions += rollout.actions.size
        self.seconds += seconds
        finished = max(int(rollout.dones.sum()), 1)
        return {
            "decisions": self.decisions,
            "seconds": self.seconds,
            "decisions/s": rollout.actions.size / seconds,
            "score rate": float(rollout.points.sum()) / rollout.actions.size,
            "match decisions": rollout.actions.size / finished,
            "learning rate": rate,
            **metrics,
        }

    def check_weights(self) -> None:
        """See that the run has not diverged, so that the last good checkpoint stays.

        Raises:
            DivergenceError: if a weight is no finite number.
        """
        if not all(bool(parameter.isfinite().all()) for parameter in self.network.parameters()):
            raise DivergenceError(
                f"the weights are no numbers any more after {self.decisions:,} decisions; "
                f"{self.args.folder()} keeps its last checkpoint; allowed: smaller --learning-rate or rewards"
            )

    def agent(self) -> NeuralAgent:
        """The network as it plays now."""
        about = {"training": self._about()}
        return NeuralAgent(self.network, self.rules, name=self.args.folder().name, about=about)

    def save(self) -> None:
        """Write the agent, for those who play it, and the trainer, for ``--resume``."""
        folder = self.args.folder()
        self.agent().save(folder / checkpoints.AGENT_FILE)
        tensors = {f"network.{k}": v for k, v in self.network.state_dict().items()}
        for index, state in self.optimizer.state_dict()["state"].items():
            tensors |= {f"optimizer.{index}.{k}": v for k, v in state.items()}
        tensors |= {f"batch.{k}": torch.from_numpy(v) for k, v in self.batch.state_dict().items()}
        about = checkpoints.describe(self.rules, self.network.shape, training=self._about())
        about["rng"] = self.rng.bit_generator.state
        checkpoints.write(folder / TRAINER_FILE, tensors, about)

    @classmethod
    def resume(cls, args: Args) -> Trainer:
        """The run in the folder of `args`, as its last checkpoint left it.

        Raises:
            CheckpointError: if there is none, or if `args` asks for another kind of training.
        """
        path = args.folder() / TRAINER_FILE
        tensors, about = checkpoints.read(path)
        with _state_of_a_run(path):
            return cls._restore(args, tensors, about)

    @classmethod
    def _restore(cls, args: Args, tensors: dict[str, Tensor], about: dict[str, Any]) -> Trainer:
        training = about["training"]
        trainer = cls(_merge(args, training["args"]))
        parts: dict[str, dict[str, Tensor]] = {"network": {}, "optimizer": {}, "batch": {}}
        for key, tensor in tensors.items():
            part, name = key.split(".", 1)
            parts[part][name] = tensor
        checkpoints.tensors_to_state(trainer.network, parts["network"])
        state: dict[int, dict[str, Tensor]] = {}
        for key, tensor in parts["optimizer"].items():
            index, name = key.split(".")
            state.setdefault(int(index), {})[name] = tensor
        trainer.optimizer.load_state_dict({**trainer.optimizer.state_dict(), "state": state})
        trainer.batch.load_state_dict({k: v.numpy() for k, v in parts["batch"].items()})
        trainer.rng.bit_generator.state = about["rng"]
        trainer.decisions, trainer.seconds = training["decisions"], training["seconds"]
        return trainer

    def _about(self) -> dict[str, Any]:
        args = {k: str(v) if isinstance(v, Path) else v for k, v in asdict(self.args).items()}
        return {"args": args, "decisions": self.decisions, "seconds": self.seconds}


def _merge(args: Args, stored: dict[str, Any]) -> Args:
    """The stored arguments with those of `args` that may change; others must agree, or be the defaults."""
    _refuse_changes(args, _fixed(stored), unless=Args())
    kept = _fixed(stored)
    if args.decisions is None and args.minutes is None:  # no budget given: the run's own
        kept |= {"decisions": stored["decisions"], "minutes": stored["minutes"]}
    return Args(**{**asdict(args), **kept})


def _fixed(stored: dict[str, Any]) -> dict[str, Any]:
    """Those of the stored arguments that a run keeps."""
    return {f.name: stored[f.name] for f in fields(Args) if f.name in stored and f.name not in FREE}


def _refuse_changes(args: Args, fixed: dict[str, Any], unless: Args | None = None) -> None:
    """Refuse arguments that are not those of the run; with `unless`, what is the same there was not given."""
    for name, value in fixed.items():
        given = getattr(args, name)
        if given != value and (unless is None or given != getattr(unless, name)):
            raise checkpoints.CheckpointError(
                f"--{name.replace('_', '-')} {given} given, but the run was started with {value}; "
                "leave it out, or start a new run with --run"
            )


def warm_up(trainer: Trainer) -> None:
    """Compile what an iteration runs, on matches of its own, so that the budget is spent on training."""
    batch = MatchBatch(8, trainer.rules, 0, skip_forced=True)
    rollout = Rollout(batch, 8 * trainer.rules.num_players)
    rng = np.random.default_rng(0)
    collect(rollout, batch, trainer.network, rng, trainer.threads)
    samples, usable = samples_of(rollout, trainer.args)
    network = copy.deepcopy(trainer.network)
    optimizer = SharedAdam(list(network.parameters()), trainer.args.learning_rate, eps=1e-5)
    update(network, optimizer, samples, iter([usable]), trainer.args, trainer.threads)
    measure(trainer, deals=1)


def measure(trainer: Trainer, deals: int = 200) -> float:
    """A point of the learning curve: margin vs greedy."""
    return duplicate_rounds(trainer.agent(), GreedyAgent(), trainer.rules, deals, CURVE_SEED).mean


def train(trainer: Trainer, stop: StopRequest) -> bool:
    """Train to the end of the budget; returns whether it got there (Ctrl-C stops it earlier)."""
    args = trainer.args
    rollout = Rollout(trainer.batch, args.steps)
    trainer.save()
    if trainer.progress >= 1:
        return True
    if not stop:
        print("getting ready; the first time of a game, half a minute", flush=True)
        warm_up(trainer)
    checkpoint_due = every(args.checkpoint_seconds)
    with Monitor(args.folder(), trainer.decisions) as monitor:
        if trainer.decisions == 0 and not stop:
            monitor.note({"decisions": 0, "margin vs greedy": measure(trainer)})
        while trainer.progress < 1 and not stop:
            metrics = trainer.iterate(rollout)
            trainer.check_weights()
            if checkpoint_due() or trainer.progress >= 1:
                trainer.save()
                metrics["margin vs greedy"] = measure(trainer)
            monitor.show(metrics, trainer.progress)
        trainer.save()
    return not stop


def _has_begun(folder: Path) -> bool:
    """Whether there is a run in a folder that has learned anything."""
    path = folder / TRAINER_FILE
    return path.exists() and checkpoints.read(path)[1]["training"]["decisions"] > 0


def main(args: Args) -> None:
    """Train, save, measure."""
    check(args)
    torch.set_num_threads(args.threads or torch.get_num_threads())
    folder = args.folder()
    if not args.resume and _has_begun(folder):
        raise checkpoints.CheckpointError(
            f"{folder} holds a run already; go on with it by --resume, "
            f"or start another by --seed {args.seed + 1} or --run FOLDER"
        )
    with StopRequest() as stop:  # from here on, Ctrl-C leaves a checkpoint
        trainer = Trainer.resume(args) if args.resume else Trainer(args)
        if trainer.progress >= 1:
            print(f"{folder} has had {trainer.budget}; a larger --minutes or --decisions goes on")
        ended = train(trainer, stop)
    if not ended:
        print(f"stopped after {trainer.decisions:,} decisions; {folder / checkpoints.AGENT_FILE} plays")
        print(f"go on:   {python()} -m train.ppo --resume --run {folder}")
        print(f"measure: {python()} -m train.evaluate {folder} greedy")
        sys.exit(130)
    if args.report:
        report(trainer.agent(), folder, args.deals, args.matches)


def command_line() -> Args:
    """The arguments as given; what is left out when a run is resumed is as the run has it."""
    parse = partial(tyro.cli, Args, prog="python -m train.ppo", description=_SUMMARY)
    args = parse()
    if not args.resume:
        return args
    path = args.folder() / TRAINER_FILE
    _, about = checkpoints.read(path)
    with _state_of_a_run(path):
        fixed = _fixed(about["training"]["args"])
    args = parse(default=replace(args, **fixed))
    _refuse_changes(args, fixed)
    return args


if __name__ == "__main__":
    try:
        main(command_line())
    except (ArgumentError, DivergenceError, checkpoints.CheckpointError, RulesError, OSError) as error:
        sys.exit(f"train.ppo: {error}")
    except KeyboardInterrupt:
        print("\ntrain.ppo: stopped at once; what was saved before is whole", file=sys.stderr)
        sys.exit(130)
