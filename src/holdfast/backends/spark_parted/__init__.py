"""The parted backend on Spark: shards in Python workers, which the driver directs and which exchange rows directly."""
