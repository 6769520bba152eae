export { digestOf, GeneratedFiles } from "./generated-files.ts";
export { planUpgrade, type Upgrade, writeUpgrade } from "./plan-upgrade.ts";
