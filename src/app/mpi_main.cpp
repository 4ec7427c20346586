// SPDX-License-Identifier: GPL-3.0-or-later
// headlight-mpi: `headlight corpus run` on many processes. mpirun -n 4 headlight-mpi MODEL --texts FILE --out STORE
#include "cli/command.h"
#include "headlight/corpus/run/run.h"

#include <mpi.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace {

constexpr int kAsk = 1, kAnswer = 2;

/// Rank 0 answers between its own chunks, so no thread of MPI's is needed.
class MpiTeam final : public headlight::corpus::Team {
public:
    MpiTeam() {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
        MPI_Comm_size(MPI_COMM_WORLD, &size_);
    }
    int rank() const override { return rank_; }
    int size() const override { return size_; }
    /// A waiting process sleeps: it may share its core with one that works.
    void barrier() override {
        MPI_Request request;
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
        for (int done = 0; MPI_Test(&request, &done, MPI_STATUS_IGNORE), !done;) nap();
    }
    void give_out(std::vector<std::int64_t> blocks) override { blocks_ = std::move(blocks); }
    std::int64_t next() override {
        if (rank_ == 0) {
            answer();
            return take();
        }
        char ask = 0;
        std::int64_t block = -1;
        MPI_Request request;
        MPI_Irecv(&block, 1, MPI_INT64_T, 0, kAnswer, MPI_COMM_WORLD, &request);
        MPI_Send(&ask, 1, MPI_CHAR, 0, kAsk, MPI_COMM_WORLD);
        for (int done = 0; MPI_Test(&request, &done, MPI_STATUS_IGNORE), !done;) nap();
        return block;
    }
    void answer() override {
        while (true) {
            int asked = 0;
            MPI_Status status;
            MPI_Iprobe(MPI_ANY_SOURCE, kAsk, MPI_COMM_WORLD, &asked, &status);
            if (!asked) return;
            char ask = 0;
            MPI_Recv(&ask, 1, MPI_CHAR, status.MPI_SOURCE, kAsk, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            const std::int64_t block = take();
            if (block < 0) ++dismissed_;
            MPI_Send(&block, 1, MPI_INT64_T, status.MPI_SOURCE, kAnswer, MPI_COMM_WORLD);
        }
    }
    void answer_all() override {
        for (answer(); dismissed_ < size_ - 1; answer()) nap();
    }

private:
    static void nap() { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }
    std::int64_t take() { return at_ < blocks_.size() ? blocks_[at_++] : -1; }

    int rank_ = 0, size_ = 1, dismissed_ = 0;
    std::vector<std::int64_t> blocks_;
    std::size_t at_ = 0;
};

int cores_of_this_process() {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    return ::sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 1;
}

int processes_on_this_node() {
    MPI_Comm node;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    int size = 1;
    MPI_Comm_size(node, &size);
    MPI_Comm_free(&node);
    return size;
}

/// Open MPI under srun without PMIx starts every process by itself: all would do all the work.
bool is_silent_singleton(int size) {
    const char* tasks = std::getenv("SLURM_NTASKS");
    return size == 1 && tasks && std::atoi(tasks) > 1;
}

int run(MpiTeam& team, std::vector<std::string> words) {
    using namespace headlight::cli;
    if (is_silent_singleton(team.size())) {
        std::fprintf(stderr, "headlight-mpi: Slurm started %s tasks, and MPI knows of one. Use srun --mpi=pmix, or mpirun\n",
                     std::getenv("SLURM_NTASKS"));
        return 1;
    }
    const int on_node = processes_on_this_node(), cores = cores_of_this_process(),
              machine = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
    // Bound processes have cores of their own; others share the node's.
    const int threads = std::max(1, cores < machine ? cores : cores / on_node);
    if (std::ranges::none_of(words, [](const std::string& word) { return word.starts_with("--threads"); }))
        words.insert(words.end(), {"--threads", std::to_string(threads)});
    if (team.rank() == 0 && cores == 1 && machine > on_node)
        std::fprintf(stderr,
                     "headlight-mpi: each process is bound to one core of %d. Use mpirun --bind-to none, or --map-by slot:PE=N\n",
                     machine);
    if (team.rank() > 0) words.emplace_back("--quiet");
    const auto commands = corpus_commands();
    const auto command = std::ranges::find_if(commands, [](const Command& each) { return each.name == "corpus run"; });
    Frontend frontend;
    frontend.team = &team;
    return run_command(*command, std::move(words), frontend);
}

}  // namespace

int main(int argc, char** argv) {
    int provided = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    int code = 1;
    {
        MpiTeam team;
        code = run(team, {argv + 1, argv + argc});
    }
    // One that failed would leave the others waiting for ever.
    if (code != 0) MPI_Abort(MPI_COMM_WORLD, code);
    MPI_Finalize();
    return code;
}
