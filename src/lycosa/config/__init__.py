"""Configuration: files, environment and command line become one frozen `Mission`.

`loading` layers them, `toml_writer` writes the outcome down, `seeds` gathers the addresses to begin with. This room is
the only reader of configuration.
"""
