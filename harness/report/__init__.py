"""What a session leaves for people and for other tools: JSON lines, JUnit, HTML, job summary, test plan."""
