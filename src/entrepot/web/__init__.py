"""The assembled ASGI application: the edge, the hot lane, and Litestar behind them."""
