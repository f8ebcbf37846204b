"""How does the whole platform run on one machine? Airflow's four processes, and a keeper that is their parent."""
