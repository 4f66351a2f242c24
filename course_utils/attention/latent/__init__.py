"""Keys and values from a short vector that all heads share."""
