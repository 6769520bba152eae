export { planUpgrade, type Upgrade, writeUpgrade } from "./plan-upgrade.ts";
