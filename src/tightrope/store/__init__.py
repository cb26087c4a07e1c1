"""What is kept on disk: folders of runs, snapshots, records."""
