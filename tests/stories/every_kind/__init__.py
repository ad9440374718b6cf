"""A world with every kind of message: what people do in it, and how the store is compared with the platform's truth."""
