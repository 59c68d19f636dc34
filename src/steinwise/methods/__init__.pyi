# The methods: each is in the module that is named as in `method="..."`. Read by type checkers, and
# by __init__.py.
from steinwise.methods.base import AbstractFitted as AbstractFitted
from steinwise.methods.base import AbstractMethod as AbstractMethod
from steinwise.methods.fssd import FSSD as FSSD
from steinwise.methods.graphical import GraphicalKSD as GraphicalKSD
from steinwise.methods.kccsd import KCCSD as KCCSD
from steinwise.methods.ksd import KSD as KSD
from steinwise.methods.ksdagg import KSDAgg as KSDAgg
from steinwise.methods.lambda_psd import LambdaPSD as LambdaPSD
from steinwise.methods.nystrom import NystromKSD as NystromKSD
from steinwise.methods.psd import PSD as PSD
from steinwise.methods.rfsd import RFSD as RFSD
from steinwise.methods.scores import Scores as Scores
from steinwise.methods.sksd import SlicedKSD as SlicedKSD
from steinwise.methods.transported import Transported as Transported

NAMES: tuple[str, ...]

def by_name(name: str) -> type[AbstractMethod]: ...
