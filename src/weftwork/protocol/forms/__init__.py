"""The form of a question: which fields and buttons a person gets, and the answer that is made of what they enter."""
