import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Folders whose tests start processes, compilers and browsers. */
const SLOW = /\/test\/(browser|ci|cli|documentation|server|databases|security)\//;

/**
 * Starts with the slowest tests, so that no worker is still busy with one at the end while others are idle. The other
 * files of the same project follow while its workers are running.
 */
export class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const started = new Set(sorted.filter(({ moduleId }) => SLOW.test(moduleId)).map(({ project }) => project));
    const rank = ({ moduleId, project }: TestSpecification): number => {
      if (SLOW.test(moduleId)) return 0;
      return started.has(project) ? 1 : 2;
    };
    return sorted.toSorted((a, b) => rank(a) - rank(b));
  }
}
