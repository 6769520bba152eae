/**
 * A message of PostgreSQL's protocol: a letter, its length, and its content.
 * https://www.postgresql.org/docs/current/protocol-message-formats.html
 */
export function postgresMessage(letter: string, body: string | Buffer): Buffer {
  const length = Buffer.alloc(4);
  const content = Buffer.from(body);
  length.writeInt32BE(length.length + content.length);
  return Buffer.concat([Buffer.from(letter), length, content]);
}
