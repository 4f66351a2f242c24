"""Keys and values kept between tokens."""
