"""A rule as text, to be changed."""

RULE = """rule r {
  summary "relu does nothing"
  size m, n
  activation x: float[m, n]
  source {
    a = relu(x)
    return a
  }
  target {
    return x
  }
  class bit-exact
}
"""


def changed(*replacements):
    text = RULE
    for old, new in replacements:
        assert old in text
        text = text.replace(old, new, 1)
    return text
