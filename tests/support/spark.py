"""Texts and Spark settings that Spark tests share."""

import filecmp
from pathlib import Path
from pydoc_data.topics import topics

CORPUS = """\
In New York, the mayor met Mr. O'Neill and an IBM engineer.
The mayor of New York said that the state-of-the-art iPhone was made in China.
We don't think they're in Paris, France.
this line is rejected
The president of the U.S. met the president of France, état-major and Ⱥⱥ.
A state-of-the-art plan was met by an engineer of the U.S. in New York.
"""
PROSE = "\n".join(" ".join(some.split()) for text in topics.values() for some in text.split("\n\n"))
# With these settings Spark starts fast and does not use the network.
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "512m",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.python.daemon.module": "support.spark_daemon",
    "spark.sql.shuffle.partitions": "2",
}


def same_models(one: Path, other: Path) -> bool:
    return filecmp.cmp(one, other, shallow=False)
