"""The topic mission: pages about what words or examples say, told apart by what each crawl learns."""
