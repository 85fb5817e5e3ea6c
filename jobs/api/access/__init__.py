"""Who may do what: keys, their scopes, how often they may ask, and what they did."""
