"""`python -m entrepot`."""

from entrepot.cli import main

main()
