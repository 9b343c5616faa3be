"""Everything that learns or measures: ``train.ppo``, ``train.evaluate``."""
