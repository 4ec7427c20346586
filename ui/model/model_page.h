// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/figure/core/view_places.h"
#include "ui/canvas/view_pane.h"
#include "ui/document/document.h"
#include "ui/model/tensor_list.h"
#include "ui/panels/prompt/memory_form.h"

#include <QRadioButton>
#include <QStackedWidget>
#include <QToolButton>

#include <map>

namespace headlight::ui {

/// The page of the model: its figures, its tensors, what it takes in memory and the type it computes in, its files.
class ModelPage : public QWidget {
    Q_OBJECT
public:
    ModelPage(Document&, Jobs&, QWidget* parent = nullptr);

    ViewPane& pane() { return *pane_; }
    /// One of figure::model_views().
    void show_view(const View&);
    void show_tensors();
    QToolButton& tab(const QString& title) { return *tabs_.at(title); }
    /// Null while no model with weights is open.
    TensorList* tensors() { return tensors_; }
    MemoryForm& memory() { return *memory_; }
    QLabel& files() { return *files_; }

protected:
    void showEvent(QShowEvent*) override;

private:
    QToolButton* add_tab(const QString& title, QWidget* shows);
    void show_tab(const QString& title);
    QWidget* memory_tab();
    void take_model();

    Document& document_;
    Jobs& jobs_;
    class QHBoxLayout* row_;
    QStackedWidget* stack_;
    std::map<QString, QToolButton*> tabs_;
    std::map<QString, QWidget*> parts_;
    ViewPane* pane_;
    QWidget* tensors_room_;
    TensorList* tensors_ = nullptr;
    MemoryForm* memory_;
    std::map<model::ComputeType, QRadioButton*> types_;
    QLabel* files_;
    std::shared_ptr<const model::Model> shown_;  ///< whose tensors and files are listed
};

}  // namespace headlight::ui
