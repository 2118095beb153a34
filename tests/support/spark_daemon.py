"""The parent of Spark's Python workers: PySpark's daemon, with workers and tasks that start faster.

capfst is imported before the workers are forked. Zip files are removed from Python's path: before each task the workers
look for new modules, so Python would read the directory of each zip file. That takes 0.2 s for PySpark's own zip file,
which is unnecessary because PySpark is installed.
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
