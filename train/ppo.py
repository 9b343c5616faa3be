"""Self-play PPO: one network plays all seats, learns from all of them.

    python -m train.ppo                                # four players in pairs, three minutes
    python -m train.ppo --rules fives_and_threes-2p --minutes 10 --width 512
    python -m train.ppo --resume                       # go on with the last run of these rules

Proximal policy optimisation (Schulman et al., 2017) over ``MatchBatch``: illegal actions are masked, forced
moves are skipped, and advantages run along each seat's own decisions (``advantages.py``).

| metric | meaning |
|---|---|
| decisions | decisions collected so far; forced moves are not decisions |
| decisions/s | decisions per second, collection and learning together |
| points/round | accepted points of all sides per finished round |
| match decisions | decisions per finished match |
| entropy | mean entropy of the masked policy, in nats |
| policy loss, value loss | the clipped surrogate; half the mean squared error of scaled returns |
| explained variance | 1 - Var(return - value) / Var(return) of the rollout |
| approx KL | mean of (ratio - 1) - log ratio, the estimate by Schulman (2020) |
| clip fraction | share of decisions whose ratio left the clip range |
| learning rate | of the optimiser |
"""

from __future__ import annotations

import json
import signal
import sys
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
import tyro
from torch import Tensor, nn

from agents import checkpoints
from agents.networks import PolicyValueNet
from agents.sampling import sample_actions
from fivesthrees_env.batch import MatchBatch
from fivesthrees_env.rules import Rules
from train.advantages import seat_advantages


@dataclass
class Args:
    """Arguments of a training run."""

    rules: str = "fives_and_threes-4p"
    """A preset's name (`python -m fivesthrees_env rules` lists them)."""
    minutes: float = 3.0
    """Wall-clock time to train, over all resumed parts of a run together."""
    decisions: int | None = None
    """Train for this many decisions instead: with the same seed, reproducible."""
    seed: int = 1
    """Seeds the deals, the network and every draw."""
    run: Path | None = None
    """Folder of the run; default: runs/<rules>-seed<seed>."""
    resume: bool = False
    """Go on with the run in that folder, from its last checkpoint."""
    threads: int = 0
    """CPU threads of PyTorch; 0: all cores."""
    num_matches: int = 512
    """Matches played side by side."""
    steps: int = 64
    """Decisions per match and rollout."""
    width: int = 256
    """Units per hidden layer."""
    depth: int = 2
    """Hidden layers."""
    learning_rate: float = 1e-3
    """Step size of Adam at the start; it falls linearly to a twentieth."""
    gamma: float = 0.99
    """Discount per own decision."""
    lam: float = 0.9
    """Lambda of generalised advantage estimation."""
    points_scale: float = 0.1
    """Reward per point of margin over the other sides."""
    win_reward: float = 1.0
    """Reward for winning the match; losing costs the same, shared by the losers."""
    epochs: int = 1
    """Passes over each rollout."""
    minibatch: int = 4096
    """Decisions per gradient step."""
    clip: float = 0.2
    """Range of the probability ratio."""
    entropy: float = 0.01
    """Weight of the entropy bonus."""
    value_weight: float = 0.5
    """Weight of the value loss."""
    max_grad_norm: float = 1.0
    """Gradients are scaled down to this norm."""
    checkpoint_seconds: float = 20.0
    """Time between checkpoints."""


def run(a):
    torch.manual_seed(a.seed); torch.set_num_threads(a.threads or 2)
    rules=Rules.preset(a.rules); rng=np.random.default_rng(a.seed)
    b=MatchBatch(a.num_matches,rules,seed=a.seed*10**6,skip_forced=True,reward="margin")
    net=PolicyValueNet(b.layout.size,rules.num_actions,a.width,a.depth)
    opt=torch.optim.Adam(net.parameters(),lr=a.learning_rate,eps=1e-5,fused=True)
    T,N,D,A=a.steps,a.num_matches,b.layout.size,rules.num_actions
    obs=np.zeros((T+1,N,D),np.int8); masks=np.zeros((T+1,N,A),np.int8)
    acts=np.zeros((T,N),np.int64); logp=np.zeros((T,N),np.float32); vals=np.zeros((T,N),np.float32)
    rew=np.zeros((T,N,rules.num_sides),np.float32); seats=np.zeros((T,N),np.int8); dones=np.zeros((T,N),bool)
    obs[T]=b.observations; masks[T]=b.action_masks
    t_start=time.time(); dec=0; it=0; tr=tu=te=0
    while (dec<a.decisions if a.decisions else time.time()-t_start < a.minutes*60):
        frac=dec/a.decisions if a.decisions else (time.time()-t_start)/(a.minutes*60)
        for g in opt.param_groups: g['lr']=a.learning_rate*max(0.05,1-frac)
        t0=time.time()
        obs[0]=obs[T]; masks[0]=masks[T]
        ent=0
        with torch.inference_mode():
            for t in range(T):
                seats[t]=b.seats
                lo,v=net(torch.from_numpy(obs[t]))
                acts[t],logp[t]=sample_actions(lo.numpy(),masks[t],rng); vals[t]=v.numpy()
                b.bind(obs[t+1],masks[t+1]); 
                t1=time.time(); b.step(acts[t]); te+=time.time()-t1
                dones[t]=b.dones
                rew[t]=b.rewards*a.points_scale
                w=b.winners
                i=np.flatnonzero(w>=0)
                rew[t,i]-=a.win_reward/(rules.num_sides-1); rew[t,i,w[i]]+=a.win_reward*(1+1/(rules.num_sides-1))
        tr+=time.time()-t0; t0=time.time()
        adv,use=seat_advantages(rew,vals,seats,dones,rules.num_players,a.gamma,a.lam)
        ret=adv+vals
        idx=np.flatnonzero(use.reshape(-1))
        dec+=T*N; it+=1
        fo=torch.from_numpy(obs[:T].reshape(T*N,D)); fm=torch.from_numpy(masks[:T].reshape(T*N,A)); fa=torch.from_numpy(acts.reshape(-1)); fl=torch.from_numpy(logp.reshape(-1)); fr=torch.from_numpy(ret.reshape(-1)); 
        av=adv.reshape(-1)[idx]; fadv=torch.from_numpy((adv.reshape(-1)-av.mean())/(av.std()+1e-8))
        for ep in range(a.epochs):
            perm=torch.from_numpy(rng.permutation(idx))
            for k in range(0,len(perm)-a.minibatch+1,a.minibatch):
                j=perm[k:k+a.minibatch]
                lo,v=net(fo[j])
                lo=lo.masked_fill(fm[j]==0,-1e9); ls=torch.log_softmax(lo,-1)
                lp=ls.gather(1,fa[j][:,None])[:,0]
                r=torch.exp(lp-fl[j]); ad=fadv[j]
                pl=-torch.min(r*ad,r.clamp(1-a.clip,1+a.clip)*ad).mean()
                en=-(ls.exp()*ls.masked_fill(fm[j]==0,0)).sum(-1).mean()
                vl=0.5*((v-fr[j])**2).mean()
                loss=pl-a.entropy*en+a.value_weight*vl
                opt.zero_grad(); loss.backward(); nn.utils.clip_grad_norm_(net.parameters(),a.max_grad_norm); opt.step()
        tu+=time.time()-t0
        if it%20==0:
            ev=1-((fr-torch.from_numpy(vals.reshape(-1)))[idx].var()/fr[idx].var()).item()
            print(f'{time.time()-t_start:.0f}s dec {dec/1e6:.2f}M {dec/(time.time()-t_start):.0f}/s rollout {tr:.1f} (env {te:.1f}) update {tu:.1f} ent {en.item():.3f} vl {vl.item():.3f} ev {ev:.2f}',flush=True)
    return net
if __name__=='__main__':
    a=tyro.cli(Args); net=run(a)
    from agents.neural import NeuralAgent
    NeuralAgent(net,Rules.preset(a.rules)).save('/tmp/exp/%s.safetensors'%(a.run or 'x'))
