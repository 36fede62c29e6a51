"""What each case expects, a file a group: a function a case, registered under its id, that gets the case and a place to run it in."""
