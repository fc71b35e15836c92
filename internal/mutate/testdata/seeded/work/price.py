def total(a, b):
    return a - b


def dear(price):
    return price < 100
