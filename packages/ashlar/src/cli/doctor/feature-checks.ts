import type { CheckContext, FeatureCheck, FoundProblem } from "../../boot/index.ts";
import { ConfigurationError } from "../../support/index.ts";
import { migrationsOf } from "../migrations/with-migrations.ts";
import { withDatabase } from "./database.ts";
import { featuresOf, hasPages } from "./features.ts";
import { type Check, type Finding, finding, type Severity, SkippedError } from "./finding.ts";
import type { Subject } from "./subject.ts";

/** The checks declared by an application's features. */
export function featureChecksOf(subject: Subject): readonly Check[] {
  return featuresOf(subject).flatMap(({ feature, provider }) =>
    (feature.checks ?? []).map((check) => asCheck(check, provider)),
  );
}

function asCheck({ name, findings, seconds, load }: FeatureCheck, provider: string): Check {
  return {
    name,
    needsBoot: false,
    ...(seconds !== undefined && { seconds }),
    async run(subject: Subject): Promise<readonly Finding[]> {
      const found: Finding[] = [];
      const report = (severity: Severity) => (id: string, problem: FoundProblem) => {
        if (!Object.hasOwn(findings, id)) {
          const remedy = `Add it to the findings of the check "${name}", with what it means.`;
          throw new ConfigurationError(provider, `the finding "${id}" is not declared.`, remedy);
        }
        found.push(finding(id, severity, placed(subject, problem)));
      };
      const { run } = await load();
      try {
        await run(contextOf(subject, report("error"), report("warning")));
      } catch (thrown) {
        // If the application doesn't boot, the check can't find anything else.
        if (!(thrown instanceof SkippedError) || found.length === 0) throw thrown;
      }
      return found;
    },
  };
}

function contextOf(subject: Subject, error: CheckContext["error"], warning: CheckContext["warning"]): CheckContext {
  return {
    root: subject.root,
    isProduction: subject.isProduction,
    variables: subject.variables,
    application: () => {
      const { application } = subject.boot;
      if (application === null) throw new SkippedError("the application doesn't boot");
      return application;
    },
    settings: (section, name) => subject.exported(section, name),
    database: (work) =>
      withDatabase(subject, async (database) => {
        const pending = await migrationsOf(subject.root, database).pending();
        return pending.length > 0 ? null : await work(database);
      }),
    error,
    warning,
    migrating: migrating(subject),
  };
}

/** The members of a finding about a problem: the file and the line of its location. */
function placed(subject: Subject, { at, ...problem }: FoundProblem): FoundProblem {
  return at === undefined ? problem : { ...problem, ...subject.placeOf(at) };
}

/** The commands that create the missing migrations, and run all pending ones. */
export function migrating(subject: Subject): string {
  const install = hasPages(subject) ? "npx ashlar auth --migrations" : "npx ashlar api:install --migrations";
  return `${install} && npx ashlar migrate`;
}
