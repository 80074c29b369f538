"""The page in the browser: everything that lycosa knows of the collections below a folder, read and steered there."""
