"""Does the promise hold when everything goes wrong? One fault after another on a scratch lake, each fully accounted."""
