"""Mistakes where images are cut into patches.

The lines speak of `images` and `patch`, the arguments, and of the steps

    batch, channels, height, width = images.shape
    rows = height // patch
    columns = width // patch
    grid = images.reshape(batch, channels, rows, patch, columns, patch)
    turned = grid.permute(0, 2, 4, 1, 3, 5)
    patches = turned.reshape(batch, rows * columns, channels * patch * patch)
"""

from course_utils.checking.mistakes import mistake

_SHAPE = "(batch, rows * columns, -1)"
_PIXELS = "images.permute(0, 2, 3, 1).reshape(batch, rows, patch, columns, patch, channels)"

PATCHES = (
    mistake("reshaped without a permute", "The shape is right, but a token holds pieces of rows instead of a square. "
            "`reshape` reads numbers in the order in which memory holds them: after the first row of the first patch, "
            "what comes next in memory?", f"patches = images.reshape{_SHAPE}",
            f"patches = images.permute(0, 2, 3, 1).reshape{_SHAPE}",
            f"patches = images.permute(0, 2, 3, 1).flatten(1, 2).reshape{_SHAPE}",
            f"patches = images.transpose(1, 2).reshape{_SHAPE}",
            f"patches = images.mT.reshape{_SHAPE}"),
    mistake("channel last", "The patches are the right ones, but inside a patch the channels of a pixel stand together "
            "or between rows and columns. In which order does the flattened kernel of a convolution hold channel, row "
            "and column?", "turned = grid.permute(0, 2, 4, 3, 5, 1)", "turned = grid.permute(0, 2, 4, 3, 1, 5)",
            "turned = grid.permute(0, 2, 4, 5, 3, 1)"),
    mistake("patches down the columns", "The patches are the right ones, numbered down the columns. In reading order, "
            "where does the second patch stand?", "turned = grid.permute(0, 4, 2, 1, 3, 5)"),
    mistake("rows and columns of a patch exchanged", "Each patch is mirrored at its diagonal: its pixels come column "
            "by column. Which runs faster inside a patch, row or column?", "turned = grid.permute(0, 2, 4, 1, 5, 3)"),
    mistake("height and width exchanged", "The whole image was mirrored at its diagonal: the patches are numbered down "
            "the columns, and so are the pixels inside. Which axis of (B, C, h, w) holds the rows?",
            "turned = grid.permute(0, 4, 2, 1, 5, 3)"),
    mistake("grid and patch axes swapped", "A token holds pixels that lie far apart, as on a coarse lattice. When the "
            "height is cut in two factors, which comes first: the number of the patch, or the row inside it?",
            "turned = grid.permute(0, 3, 5, 1, 2, 4)",
            "grid = images.reshape(batch, channels, patch, rows, patch, columns)\n"
            "turned = grid.permute(0, 3, 5, 1, 2, 4)",
            "grid = images.reshape(batch, channels, patch, rows, patch, columns)\n"
            "turned = grid.permute(0, 2, 4, 1, 3, 5)"),
    mistake("unfolded twice without a permute", "Height and width are both cut, but the channels still stand before "
            "the grid when the axes are joined: with several channels, a token holds several patches of one of them. "
            "Which axes must come first?", "turned = grid.permute(0, 1, 2, 4, 3, 5)",
            "turned = grid.permute(0, 2, 1, 4, 3, 5)"),
    mistake("axes joined in another order", "A token mixes pixels of different patches: the axes were split, but "
            "brought together in an order in which a patch is not in one piece. Which axes make up one token?",
            "turned = grid.permute(0, 2, 1, 3, 4, 5)",
            f"pixels = {_PIXELS}\npatches = pixels.permute(0, 2, 4, 1, 3, 5).reshape{_SHAPE}"),
    mistake("reshaped instead of transposed", "The table has the right shape, but numbers of different patches are "
            "mixed: a table with a column for each patch was reshaped into one with a row for each. `reshape` keeps "
            "the order in memory; what swaps two axes?", f"patches = turned.reshape{_SHAPE}.mT.reshape{_SHAPE}"),
    mistake("the last row or column of patches left out", "Patches at the edge are missing, all else is right. Where "
            "does a `range` end, and where does the last patch begin?",
            *(f"patches = turned[{cut}].reshape(batch, -1, channels * patch * patch)"
              for cut in (":, :-1, :-1", ":, :-1", ":, :, :-1", ":, 1:, 1:"))),
    mistake("channels merged or dropped", "A token holds too few numbers: the channels were averaged, added up or left "
            "out. How many numbers has a patch of an image with C channels?",
            *(f"patches = {few}.reshape(batch, rows * columns, -1)"
              for few in ("turned.mean(3)", "turned.sum(3)", "turned[:, :, :, 0]"))),
    mistake("patches in another order", "The patches are the right ones, but they come in another order. Which corner "
            "does the first one stand in?",
            *(f"patches = turned.flip{axes}.reshape{_SHAPE}" for axes in ("(1)", "(2)", "(1, 2)"))),
    mistake("the pixels changed", "The numbers of the pixels were changed on the way. Cutting only moves them.",
            *(f"patches = {change}" for change in (
                f"turned.reshape{_SHAPE} / 255", f"2 * turned.reshape{_SHAPE} - 1",
                f"turned.reshape{_SHAPE} - turned.reshape{_SHAPE}.mean(-1, keepdim=True)",
                f"F.layer_norm(turned.reshape{_SHAPE}, (channels * patch * patch,))"))),
    mistake("the images of a batch mixed", "Images of the batch were mixed, or one was used for all. Which axis may "
            "the permutation not move?",
            f"patches = grid.permute(2, 4, 0, 1, 3, 5).reshape{_SHAPE}",
            f"patches = turned[:1].expand_as(turned).reshape{_SHAPE}"),
)
