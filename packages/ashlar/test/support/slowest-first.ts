import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Folders whose tests start processes, compilers and browsers. */
const SLOW = /\/test\/(browser|cli|documentation|server|databases|security)\//;

/** Begins with what takes longest, so that at the end no worker is still busy with it while the others are idle. */
export class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => Number(SLOW.test(b.moduleId)) - Number(SLOW.test(a.moduleId)));
  }
}
