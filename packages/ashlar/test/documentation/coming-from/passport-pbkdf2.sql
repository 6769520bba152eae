PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE users (id INTEGER PRIMARY KEY, username TEXT UNIQUE, hashed_password BLOB, salt BLOB);
INSERT INTO users VALUES(1,'Ada@Example.com',X'65f893fd0959fc296c6da6e797e033d48cec50bdb5b704ed31a41cb8aab3a77d',X'8deda1b724a6eccd2ce81a38ae3ccacc');
INSERT INTO users VALUES(2,'grace@example.com',X'3fd0112721934123ba1f2d9f226b0da2512cce4ec2eafa2fa6f3ffeb31e80e64',X'b2127fdc3024a2b19cc2aa792b07a166');
INSERT INTO users VALUES(3,'ada@example.com',X'92360c146fdd87fd90ce7e76ea0f15b1cc09318866fafc2e486390beaf67dad8',X'1ee858a3bf1da67fa32d311a9cf49ef0');
INSERT INTO users VALUES(4,'alice',X'71290f70c500456f395dec1f8ba83d16117f5b6a38c8ac7ec917344885bb1d6c',X'3deada0f2be44123b44feaa2af63da0c');
INSERT INTO users VALUES(5,'zoe@example.com',X'86cd397c5fc04a7e766f8784fac46f0ea7790fb2acd4c7c5492ecc1f9d23808b',X'88d962b97d27d175c2a9c37e20fa9175');
COMMIT;
