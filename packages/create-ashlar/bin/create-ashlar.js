#!/usr/bin/env node
// Plain JavaScript that an old Node can read: it is the one that has to be told. An application needs a newer Node than
// its generator, and brings one along if the machine has none.
const [major, minor] = process.versions.node.split(".").map(Number);

if (major < 20 || (major === 20 && minor < 12)) {
  console.error(
    `create-ashlar needs Node.js 20.12 or newer, and this is ${process.versions.node}: install a newer one and run this again.`,
  );
  process.exitCode = 1;
} else {
  const { main } = await import("../dist/main.js");
  process.exitCode = await main(process.argv.slice(2));
}
