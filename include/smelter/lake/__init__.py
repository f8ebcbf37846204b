"""How is it kept? Layout, jars, Spark session, catalog, tables; the only room that configures Spark or commits."""
