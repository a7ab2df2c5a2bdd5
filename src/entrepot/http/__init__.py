"""What every route needs: problems, the caller and its guards, bodies, pages, limits."""
