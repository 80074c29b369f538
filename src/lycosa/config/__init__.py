"""Configuration: files, environment and command line become one frozen `Mission`.

`loading` layers them, `toml` writes the result, `seeds` gathers the addresses to begin with. No other room reads
configuration.
"""
