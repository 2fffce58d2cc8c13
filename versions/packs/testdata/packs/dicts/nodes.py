class A:
    NAME = "Five"
NODES = {"Four": A}
NODES |= {"FourB": A}
