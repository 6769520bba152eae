export type { BodyPath, DeploymentFacts } from "./deployment-facts.ts";
export { DEPLOYMENT_KINDS, type DeploymentKind } from "./deployment-files.ts";
export { nextSteps } from "./next-steps.ts";
export { planDeployment, possibleKinds, writeDeployment } from "./plan-deployment.ts";
