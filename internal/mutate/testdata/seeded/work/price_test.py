from price import dear, total


def test_total():
    assert total(1, 2) == 3


def test_dear():
    assert dear(200)
