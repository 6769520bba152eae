#!/usr/bin/env node
// Plain JavaScript that an old Node can read: it is the one that has to be told.
const [major, minor] = process.versions.node.split(".").map(Number);

if (major < 24 || (major === 24 && minor < 7)) {
  console.error(
    `Ashlar needs Node.js 24.7 or newer, and this is ${process.versions.node}: install a newer one, or run "npm install node@26" and use npm scripts.`,
  );
  process.exitCode = 1;
} else {
  const { keepCompiledCode } = await import("./compile-cache.js");
  keepCompiledCode();
  const { main } = await import("../dist/cli.js");
  const code = await main(process.argv.slice(2));
  // What failed is over, even if the application it loaded has begun to listen. So are commands that only look at an
  // application, even if one of its modules has a timer or a connection.
  const isOver =
    code !== 0 || ["doctor", "key:generate", "lang:keys", "make:deploy", "routes"].includes(process.argv[2]);
  if (isOver) process.stdout.write("", () => process.exit(code));
}
