"""The parent of Spark's Python workers: PySpark's, but for the time that each worker and each task takes to begin.

The workers have capfst loaded when they are forked. And before each task they look for new modules, for which Python
reads the directory of every zip file on its path: 0.2 s for PySpark's own, which is installed beside it anyway.
"""

import sys

if __name__ == "__main__":
    sys.path[:] = [folder for folder in sys.path if not folder.endswith(".zip")]
    for cached in [path for path in sys.path_importer_cache if ".zip" in path]:
        del sys.path_importer_cache[cached]

    from pyspark.daemon import manager

    import capfst.spark.batch
    import capfst.spark.corpus
    import capfst.spark.dataframe  # noqa: F401

    manager()
