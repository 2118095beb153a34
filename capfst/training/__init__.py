"""Training: cased text → `cap.fst`, and cased translations with their source → a bilingual part of it.

`stages.train` is the sequence of stages for one model. `strategy` reads a corpus and keeps it as labels on this
machine; `spark.corpus` does the same on Spark's executors, and is passed in. `report` describes the trained model.
`bilingual.train_bilingual` adds weights that it learns from translations to a model.
"""
