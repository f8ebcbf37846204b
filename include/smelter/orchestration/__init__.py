"""Airflow's operator, triggers and DAG factory over `supervise/` and the commands. Nothing here starts a JVM."""
