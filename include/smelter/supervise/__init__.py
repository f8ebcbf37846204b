"""Is the driver alive? Lock, heartbeat and log of a process that runs for weeks. No Spark, no Airflow."""
