"""Training: cased text → `cap.fst`, and cased translations with their source → a bilingual part of it.

`stages.train` is the sequence of stages for one model. `report` describes the trained model.
`bilingual.train_bilingual` adds weights that it learns from translations to a model.
"""
