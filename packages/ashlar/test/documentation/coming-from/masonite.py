"""Makes masonite.sql. The hashes are made as masonite/hashing/drivers/BcryptHasher.py (Masonite 4.20) makes them."""
import sqlite3
import sys

import bcrypt


def make(string, rounds=10):  # config/application.py: HASHING["bcrypt"]["rounds"]
    return bcrypt.hashpw(bytes(string, "utf-8"), bcrypt.gensalt(rounds=rounds)).decode("utf-8")


AT = "2024-03-05 07:08:09"
VERIFIED = "2024-03-05 07:10:00"
ROWS = [
    (1, "Ada", "Ada@Example.com", make("bcrypt of ada"), VERIFIED),
    (2, "Una", "una@example.com", make("bcrypt of una"), None),
    (3, "Ada again", "ada@example.com", make("bcrypt of ada again"), VERIFIED),
    (8, "Zoë", "zoe@example.com", make("pässwörd of zoë 🦀", 12), VERIFIED),
    (9, "Gone", "gone@example.com", make("bcrypt of gone"), VERIFIED),
]
database = sqlite3.connect(sys.argv[1])
# databases/migrations/2021_01_09_043202_create_users_table.py of a new project, on SQLite.
database.execute(
    'CREATE TABLE "users" ("id" INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, "name" VARCHAR(255) NOT NULL, '
    '"email" VARCHAR(255) NOT NULL, "password" VARCHAR(255) NOT NULL, "remember_token" VARCHAR(255) NULL, '
    '"phone" VARCHAR(255) NULL, "verified_at" TIMESTAMP NULL, "created_at" TIMESTAMP NULL DEFAULT CURRENT_TIMESTAMP, '
    '"updated_at" TIMESTAMP NULL DEFAULT CURRENT_TIMESTAMP, "deleted_at" TIMESTAMP NULL, UNIQUE(email))'
)
database.executemany(
    "INSERT INTO users (id, name, email, password, verified_at, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
    [(*row, AT, AT) for row in ROWS],
)
database.execute("UPDATE users SET deleted_at = '2024-04-01 00:00:00' WHERE id = 9")
database.commit()
