"""What an operator is: `classes` says what the classes mean, `table` which operators they have, `describe` looks up."""

from veritasest.engines.emulated.steering.operators.classes import OperatorClass
from veritasest.engines.emulated.steering.operators.describe import Operator, classify, describe

__all__ = ["Operator", "OperatorClass", "classify", "describe"]
