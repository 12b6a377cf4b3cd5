"""One attack and its outcome."""
import dataclasses


@dataclasses.dataclass
class Attempt:
    vector: str            # row of the table, such as "SSRF, static"
    name: str              # attack within the vector
    leaked: bool           # True if it leaked
    detail: str = ""       # evidence, in a few words
    skipped: bool = False  # True if the machine cannot try it; `detail` has the reason
